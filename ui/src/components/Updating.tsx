import classes from "./Updating.module.css";

/**
 * Beside figures of an earlier draft, which stay as readable as they were while those of this one are asked for. The region with the
 * figures is `aria-busy`, so that they are read out once.
 */
export function Updating() {
  return (
    <span className={classes.updating} aria-hidden="true" data-testid="updating">
      Updating…
    </span>
  );
}
