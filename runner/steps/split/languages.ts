// Languages by file name, and the grammars that split them.

/** Grammar files of `@vscode/tree-sitter-wasm`, by language. C has none of its own there; C++'s reads it. */
const GRAMMARS: { readonly [language: string]: string } = {
  typescript: 'tree-sitter-typescript',
  tsx: 'tree-sitter-tsx',
  javascript: 'tree-sitter-javascript',
  python: 'tree-sitter-python',
  go: 'tree-sitter-go',
  rust: 'tree-sitter-rust',
  java: 'tree-sitter-java',
  c: 'tree-sitter-cpp',
  cpp: 'tree-sitter-cpp',
  csharp: 'tree-sitter-c-sharp',
  ruby: 'tree-sitter-ruby',
  php: 'tree-sitter-php',
  bash: 'tree-sitter-bash',
  css: 'tree-sitter-css',
  powershell: 'tree-sitter-powershell',
};

/** File extensions by language. Languages without a grammar still name their rows. */
const EXTENSIONS: { readonly [language: string]: string } = {
  typescript: 'ts mts cts',
  tsx: 'tsx',
  javascript: 'js mjs cjs jsx es6',
  python: 'py pyi pyw',
  go: 'go',
  rust: 'rs',
  java: 'java',
  c: 'c h',
  cpp: 'cc cpp cxx c++ hh hpp hxx h++ ipp inl cu cuh',
  csharp: 'cs',
  ruby: 'rb rake gemspec',
  php: 'php phtml',
  bash: 'sh bash zsh ksh',
  css: 'css',
  powershell: 'ps1 psm1 psd1',
  markdown: 'md markdown mdx mdown mkd',
  restructuredtext: 'rst',
  asciidoc: 'adoc asciidoc',
  json: 'json jsonc json5',
  yaml: 'yaml yml',
  toml: 'toml',
  xml: 'xml xsd xsl svg',
  html: 'html htm xhtml',
  scss: 'scss sass less',
  sql: 'sql',
  kotlin: 'kt kts',
  swift: 'swift',
  scala: 'scala sc',
  lua: 'lua',
  perl: 'pl pm',
  r: 'r',
  julia: 'jl',
  elixir: 'ex exs',
  erlang: 'erl hrl',
  haskell: 'hs',
  ocaml: 'ml mli',
  dart: 'dart',
  zig: 'zig',
  protobuf: 'proto',
  graphql: 'graphql gql',
  terraform: 'tf tfvars hcl',
  vue: 'vue',
  svelte: 'svelte',
  text: 'txt text log',
};

const FILE_NAMES: { readonly [name: string]: string } = {
  dockerfile: 'dockerfile',
  containerfile: 'dockerfile',
  makefile: 'makefile',
  gnumakefile: 'makefile',
  rakefile: 'ruby',
  gemfile: 'ruby',
  'cmakelists.txt': 'cmake',
  readme: 'text',
  license: 'text',
};

const byExtension: ReadonlyMap<string, string> = new Map(
  Object.entries(EXTENSIONS).flatMap(([language, list]) =>
    list.split(' ').map((extension): [string, string] => [extension, language]),
  ),
);

/** Language of an item by its key; undefined where the name does not tell. */
export function languageOf(key: string): string | undefined {
  const name = key.slice(key.lastIndexOf('/') + 1).toLowerCase();
  const dot = name.lastIndexOf('.');
  return FILE_NAMES[name] ?? (dot > 0 ? byExtension.get(name.slice(dot + 1)) : undefined);
}

/** Grammar file that splits a language; undefined where there is none. */
export function grammarOf(language: string | undefined): string | undefined {
  return language === undefined ? undefined : GRAMMARS[language];
}
