import { Skeleton } from "@mantine/core";
import { Delayed } from "@/components/Delayed";
import classes from "./RunListSkeleton.module.css";

const rows = Array.from({ length: 14 }, (_, index) => index);

/** Lines where the runs will stand. */
export function RunListSkeleton() {
  return (
    <Delayed>
      <div className={classes.root}>
        {rows.map((row) => (
          <div key={row} className={classes.row}>
            <Skeleton h={10} w={`${14 + ((row * 7) % 8)}%`} />
            <Skeleton h={10} w={`${30 + ((row * 11) % 20)}%`} />
            <Skeleton h={10} w={60} ml="auto" />
          </div>
        ))}
      </div>
    </Delayed>
  );
}
