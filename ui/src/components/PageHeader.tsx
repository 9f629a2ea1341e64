import { ActionIcon, Tooltip } from "@mantine/core";
import { IconArrowLeft } from "@tabler/icons-react";
import classes from "./PageHeader.module.css";

interface Props {
  title: string;
  /** A button back to the page above, named by `label`. */
  back?: { label: string; onClick: () => void };
  /** Before the title. */
  icon?: React.ReactNode;
  /** After the title: status, id. */
  badges?: React.ReactNode;
  /** One line below the title. */
  context?: React.ReactNode;
  /** Search and filters, beside the title if there is room. */
  tools?: React.ReactNode;
  actions?: React.ReactNode;
  /** More lines, such as facts. */
  children?: React.ReactNode;
}

/** The top of every page inside a project, and the document's title. */
export function PageHeader({ title, back, icon, badges, context, tools, actions, children }: Props) {
  return (
    <header className={classes.root} data-back={back ? true : undefined}>
      <title>{`${title} · Looptrace`}</title>
      <div className={classes.main}>
        {back && (
          <Tooltip label={back.label}>
            <ActionIcon variant="subtle" color="gray" onClick={back.onClick} aria-label={back.label}>
              <IconArrowLeft size={17} stroke={1.7} />
            </ActionIcon>
          </Tooltip>
        )}
        {icon}
        <h1 className={classes.title} title={title} dir="auto">
          {title}
        </h1>
        {badges}
      </div>
      {tools && <div className={classes.tools}>{tools}</div>}
      {actions && <div className={classes.actions}>{actions}</div>}
      {context && <div className={classes.context}>{context}</div>}
      {children && <div className={classes.more}>{children}</div>}
    </header>
  );
}
