// Dark or light: as the system says, until the reader chooses here.
const KEPT = 'fairlead-theme';

export function followTheme(button: HTMLButtonElement): void {
  const apply = (isDark: boolean) => {
    document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
    button.setAttribute('aria-pressed', String(isDark));
    dispatchEvent(new Event('themechange'));
  };
  const kept = localStorage.getItem(KEPT);
  const system = matchMedia('(prefers-color-scheme: dark)');
  apply(kept === null ? system.matches : kept === 'dark');
  system.addEventListener('change', ({ matches }) => localStorage.getItem(KEPT) ?? apply(matches));
  button.addEventListener('click', () => {
    const isDark = document.documentElement.dataset.theme !== 'dark';
    localStorage.setItem(KEPT, isDark ? 'dark' : 'light');
    apply(isDark);
  });
}
