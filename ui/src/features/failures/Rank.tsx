import { Popover, UnstyledButton } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import type { FailedRunGroup, FailureWeights } from "@/api/types";
import { UNKNOWN } from "@/components/format";
import { partsOf, rankOf } from "./failures";
import classes from "./Rank.module.css";

interface Props {
  group: FailedRunGroup;
  weights: FailureWeights;
}

/** The rank of a group. Hovering or clicking shows how it is calculated. */
export function Rank({ group, weights }: Props) {
  const [opened, { open, close }] = useDisclosure(false);
  return (
    <Popover
      opened={opened}
      onChange={(next) => !next && close()}
      width={300}
      position="left-start"
      shadow="md"
    >
      <Popover.Target>
        <UnstyledButton
          className={classes.rank}
          onMouseEnter={open}
          onMouseLeave={close}
          onBlur={close}
          onClick={open}
          onKeyDown={(event) => event.key === "Escape" && close()}
          aria-label={`Rank ${rankOf(group)} of 100: show how it is calculated`}
        >
          {rankOf(group)}
        </UnstyledButton>
      </Popover.Target>
      <Popover.Dropdown>
        <RankParts group={group} weights={weights} />
      </Popover.Dropdown>
    </Popover>
  );
}

/** The parts of a rank and what each adds. */
export function RankParts({ group, weights }: Props) {
  return (
    <table className={classes.parts}>
      <caption>Rank {rankOf(group)} of 100</caption>
      <thead>
        <tr>
          <th scope="col">Part</th>
          <th scope="col">Value</th>
          <th scope="col">Adds</th>
        </tr>
      </thead>
      <tbody>
        {partsOf(group.parts, weights).map(({ name, label, value, adds }) => (
          <tr key={name}>
            <th scope="row">{label}</th>
            <td>{value === null ? UNKNOWN : value.toFixed(2)}</td>
            <td>{adds === null ? "–" : `+${Math.round(adds * 100)}`}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
