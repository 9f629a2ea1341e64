import classes from "./Page.module.css";
import { PageHeader } from "./PageHeader";

interface Props extends Omit<React.ComponentProps<typeof PageHeader>, "children"> {
  children: React.ReactNode;
}

/** A page with one column of content that scrolls below its header. */
export function Page({ children, ...header }: Props) {
  return (
    <div className={classes.page}>
      <PageHeader {...header} />
      <div className={classes.scroll}>
        <div className={classes.column}>{children}</div>
      </div>
    </div>
  );
}
