import { TextInput } from "@mantine/core";
import { IconTrash } from "@tabler/icons-react";
import { useMemo, useRef } from "react";
import type { DatasetItem } from "@/api/types";
import { ErrorText } from "@/components/editor/ErrorText";
import { errorsBelow, type FormErrors } from "@/components/formErrors";
import { IconButton } from "@/components/IconButton";
import { AddGrader } from "./AddGrader";
import { GraderField } from "./GraderField";
import classes from "./Graders.module.css";
import { type Definition, type Field, WEIGHT } from "./graderFields";
import { fieldsOf, type Inner, innerGraders, withInner, withMember, withOneMore } from "./graderMembers";
import { freeName } from "./graders";
import { templatesOf } from "./graderTemplates";
import { graderType } from "./graderTypes";

interface Props {
  definition: Definition;
  /** The location of the definition in the request. */
  at: string;
  /** Where it is in the whole grader: empty, or such as `graders[0].` */
  place: string;
  /** See GraderDraft. */
  broken: Record<string, string>;
  items: readonly DatasetItem[];
  errors: FormErrors;
  onChange: (definition: Definition, broken: Record<string, string>) => void;
}

/** The fields of a grader, and what is wrong with it. */
export function GraderFields(props: Props) {
  const { definition, at, place, broken, items, errors, onChange } = props;
  const templates = useMemo(() => templatesOf(items), [items]);
  const type = graderType(definition);
  if (!type)
    return (
      <p className={classes.note}>
        There is no form for the type {JSON.stringify(definition.type) ?? "of this grader"}. Edit it as JSON.
      </p>
    );
  const fields = fieldsOf(type, definition);
  const change = (member: string, value: unknown, brokenText?: string) => {
    const changed = withMember(definition, member, value);
    const shown = fieldsOf(type, changed).map((field) => place + field.member);
    const kept = Object.entries(broken).filter(([where]) => {
      if (where === place + member) return false;
      const hidden = type.fields.some((field) => place + field.member === where && !shown.includes(where));
      return !hidden;
    });
    const added = brokenText === undefined ? [] : [[place + member, brokenText]];
    onChange(changed, Object.fromEntries([...kept, ...added]));
  };
  const messageOf = (field: Field) => {
    const where = `${at}.${field.member}`;
    return field.kind === "graders" ? errors[where] : errorsBelow(errors, where).join("; ") || undefined;
  };
  const others = errorsBelow(errors, at, [
    `${at}.name`,
    ...(place === "" ? [] : [`${at}.${WEIGHT.member}`]),
    ...fields.map(({ member }) => `${at}.${member}`),
  ]);
  return (
    <>
      <div className={classes.fields}>
        {fields.map((field) =>
          field.kind === "graders" ? (
            <InnerGraders
              key={field.member}
              {...props}
              field={field}
              error={messageOf(field)}
              onMember={(value) => change(field.member, value)}
            />
          ) : (
            <GraderField
              key={field.member}
              field={field}
              value={definition[field.member]}
              broken={broken[place + field.member]}
              templates={templates}
              error={messageOf(field)}
              onChange={(value, text) => change(field.member, value, text)}
            />
          ),
        )}
      </div>
      {fields.length === 0 && <p className={classes.note}>It has nothing to set.</p>}
      {others.length > 0 && (
        <ul className={classes.errors} role="alert">
          {others.map((message) => (
            <li key={message}>{message}</li>
          ))}
        </ul>
      )}
    </>
  );
}

interface InnerProps extends Props {
  field: Field;
  error: string | undefined;
  onMember: (graders: unknown) => void;
}

/** The graders inside another, each with its own fields. */
function InnerGraders({ definition, field, error, onMember, ...props }: InnerProps) {
  const { at, place, broken, errors, onChange } = props;
  const add = useRef<HTMLButtonElement>(null);
  const graders = definition[field.member];
  const inner = innerGraders(graders);
  const nameOf = ({ key, definition: own }: Inner) => String(own.name ?? key ?? "");
  const set = (one: Inner, changed: Definition, left = broken) =>
    onChange(withMember(definition, field.member, withInner(graders, one, changed)), left);
  const remove = (one: Inner) => {
    // The places of those after it change.
    const left = Object.entries(broken).filter(([where]) => !where.startsWith(place + field.member));
    onChange(withMember(definition, field.member, withInner(graders, one, null)), Object.fromEntries(left));
    add.current?.focus();
  };
  return (
    <div className={classes.wideField}>
      {inner.map((one, index) => {
        const where = `${at}.${one.at}`;
        const name = nameOf(one);
        return (
          // biome-ignore lint/a11y/useSemanticElements: a fieldset has a border and a width of its own
          <div
            // Its place is all that tells it from others: names can be equal while they are typed.
            key={`${one.at} of ${inner.length}`}
            className={classes.grader}
            role="group"
            aria-label={`Part ${index + 1}, ${name}`}
            data-testid="inner-grader"
          >
            <div className={classes.head}>
              {one.key === undefined ? (
                <TextInput
                  size="xs"
                  aria-label={`Name of part ${index + 1}`}
                  placeholder="Name"
                  maxLength={100}
                  autoComplete="off"
                  value={name}
                  onChange={(event) => set(one, { ...one.definition, name: event.currentTarget.value })}
                  error={errors[`${where}.name`]}
                />
              ) : (
                <code>
                  <bdi>{one.key}</bdi>
                </code>
              )}
              <span className={classes.type}>{graderType(one.definition)?.label}</span>
              <IconButton
                label={`Remove part ${index + 1}`}
                icon={<IconTrash size={14} />}
                onClick={() => remove(one)}
              />
            </div>
            <GraderFields
              {...props}
              definition={one.definition}
              at={where}
              place={`${place}${one.at}.`}
              onChange={(changed, left) => set(one, changed, left)}
            />
            <div className={classes.fields}>
              <GraderField
                field={WEIGHT}
                value={one.definition.weight}
                templates={[]}
                error={errors[`${where}.weight`]}
                onChange={(weight) => set(one, withMember(one.definition, "weight", weight))}
              />
            </div>
          </div>
        );
      })}
      <AddGrader
        ref={add}
        label="Part"
        isInner
        onAdd={(kind) =>
          onMember(withOneMore(graders, { name: freeName(kind, inner.map(nameOf)), ...kind.definition }))
        }
      />
      {error && <ErrorText>{error}</ErrorText>}
    </div>
  );
}
