import classes from "./PageMessage.module.css";

interface Props {
  title?: string;
  children?: React.ReactNode;
}

/** Fills a page or list that has nothing to show: it is empty, nothing matches, or something failed. */
export function PageMessage({ title, children }: Props) {
  return (
    <div className={classes.root}>
      {title && <p className={classes.title}>{title}</p>}
      {children}
    </div>
  );
}

/** A sentence below the title of a message. */
export function PageHint({ children }: { children: React.ReactNode }) {
  return <p className={classes.hint}>{children}</p>;
}
