import { Popover, UnstyledButton } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import type { FailedRunGroup, FailureWeights } from "@/api/types";
import { partsOf } from "./failures";
import classes from "./Rank.module.css";

/** How much a group is worth a look, 0 to 100; what the figure is made of opens on hover or click. */
export function Rank({ group, weights }: { group: FailedRunGroup; weights: FailureWeights }) {
  const [opened, { open, close, toggle }] = useDisclosure(false);
  const rank = Math.round(group.rank * 100);
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
          onClick={toggle}
          aria-label={`Rank ${rank} of 100: show its parts`}
        >
          {rank}
        </UnstyledButton>
      </Popover.Target>
      <Popover.Dropdown>
        <Parts group={group} weights={weights} />
      </Popover.Dropdown>
    </Popover>
  );
}

/** The parts of a rank, each with what it adds. */
export function Parts({ group, weights }: { group: FailedRunGroup; weights: FailureWeights }) {
  return (
    <table className={classes.parts}>
      <caption>Rank {Math.round(group.rank * 100)} of 100</caption>
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
            <td>{value === null ? "unknown" : value.toFixed(2)}</td>
            <td>{adds === null ? "–" : `+${Math.round(adds * 100)}`}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
