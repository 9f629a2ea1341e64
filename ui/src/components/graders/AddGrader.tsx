import { Button, Menu } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { Fragment } from "react";
import classes from "./Graders.module.css";
import { GRADER_KINDS, type GraderKind } from "./graders";

interface Props {
  label: string;
  /** Those to choose from; all, if it is missing. */
  kinds?: readonly GraderKind[];
  /** A grader that combines others is no part of one. */
  isInner?: boolean;
  ref?: React.Ref<HTMLButtonElement>;
  onAdd: (kind: GraderKind) => void;
}

/** A menu of all types of graders. */
export function AddGrader({ label, kinds: all = GRADER_KINDS, isInner = false, ref, onAdd }: Props) {
  const kinds = all.filter(({ definition }) => !isInner || definition.type !== "multi");
  const groups = [...new Set(kinds.map(({ group }) => group))];
  return (
    <Menu position="bottom-start" width={340}>
      <Menu.Target>
        <Button ref={ref} size="compact-sm" variant="default" leftSection={<IconPlus size={13} />}>
          {label}
        </Button>
      </Menu.Target>
      <Menu.Dropdown className={classes.kinds}>
        {groups.map((group) => (
          <Fragment key={group}>
            <Menu.Label>{group}</Menu.Label>
            {kinds
              .filter((kind) => kind.group === group)
              .map((kind) => (
                <Menu.Item key={kind.label} onClick={() => onAdd(kind)}>
                  {kind.label}
                  <span className={classes.kindHint}>{kind.description}</span>
                </Menu.Item>
              ))}
          </Fragment>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
