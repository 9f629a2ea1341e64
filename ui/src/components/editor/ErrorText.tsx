import classes from "./Editor.module.css";

/** What is wrong with a field, below it. */
export function ErrorText({ children }: { children: React.ReactNode }) {
  return (
    <p className={classes.error} data-testid="draft-error">
      {children}
    </p>
  );
}
