import { Skeleton } from "@mantine/core";
import classes from "./RunListSkeleton.module.css";

const rows = Array.from({ length: 14 }, (_, index) => index);

/** Placeholders for the rows. */
export function RunListSkeleton() {
  return (
    <div className={classes.root}>
      {rows.map((row) => (
        <div key={row} className={classes.row}>
          <Skeleton h={10} w={`${14 + ((row * 7) % 8)}%`} />
          <Skeleton h={10} w={`${30 + ((row * 11) % 20)}%`} />
          <Skeleton h={10} w={60} ml="auto" />
        </div>
      ))}
    </div>
  );
}
