export type { Access } from './access.ts';
export { type Actable, type Action, type ActionAnswer, type ActionName, actOn } from './actions.ts';
export { type ApiAddress, parseApiAddress, urlOf } from './address.ts';
export type { FreshnessPoint } from './freshness.ts';
export { type Api, type ApiOptions, type ApiServer, type Asset, createApi, serveApi } from './server.ts';
export type { Overview, PipelineView, SourceView } from './views.ts';
export type { Watched } from './watched.ts';
export { type RunWhy, type Why, whyOf } from './why.ts';
