import type { Definition, GraderType } from "./graderFields";
import { CALL_GRADERS } from "./graderTypesCalls";
import { OTHER_GRADERS } from "./graderTypesOther";
import { TEXT_GRADERS } from "./graderTypesText";

/** Every type of grader with its members, as docs/graders.md describes them. */
export const GRADER_TYPES: readonly GraderType[] = [...TEXT_GRADERS, ...CALL_GRADERS, ...OTHER_GRADERS];

export function graderType(definition: Definition): GraderType | undefined {
  return GRADER_TYPES.find(({ type }) => type === definition.type);
}
