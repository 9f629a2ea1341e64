import type { components, operations } from "./schema.gen";

type Schemas = components["schemas"];

export type Me = Schemas["Me"];
export type ProjectAccess = Schemas["ProjectAccess"];
export type Project = Schemas["Project"];
export type ProjectLimits = Schemas["ProjectLimits"];
export type Price = Schemas["Price"];
export type PriceWrite = Schemas["PriceWrite"];
export type Key = Schemas["Key"];
export type KeyWithSecret = Schemas["KeyWithSecret"];
export type KeyCreate = Schemas["KeyCreate"];
export type Scope = Schemas["Scope"];
export type Status = Schemas["Status"];
export type Usage = Schemas["Usage"];
export type Run = Schemas["Run"];
export type RunPage = Schemas["RunPage"];
export type Span = Schemas["Span"];
export type SpanPage = Schemas["SpanPage"];
export type SpanError = Schemas["SpanError"];
export type SpanEvent = Schemas["SpanEvent"];
export type Message = Schemas["Message"];
export type MessagePart = Schemas["MessagePart"];
export type RunQuery = operations["listRuns"]["parameters"]["query"];
export type View = Schemas["View"];
export type ViewPage = Schemas["ViewPage"];
export type ViewCreate = Schemas["ViewCreate"];
export type ViewUpdate = Schemas["ViewUpdate"];
