// The option `--api` of the commands that serve, apart from what serves: a command loads that only when it does.
export const API_FLAG = '--api <host:port>';
export const API_DEFAULT = '127.0.0.1:0';
export const API_MEANING =
  'address of the API and the dashboard; port 0: any free one; off: none. Beyond loopback every request needs the token';
