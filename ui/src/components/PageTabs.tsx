import { Tabs } from "@mantine/core";
import classes from "./PageTabs.module.css";

interface Props {
  /** Names the list of tabs for screen readers. */
  label: string;
  value: string;
  onChange: (value: string) => void;
  tabs: readonly { value: string; label: string; content: React.ReactNode }[];
}

/** Fills a page below its header with tabs. Only the chosen one is rendered. */
export function PageTabs({ label, value, onChange, tabs }: Props) {
  return (
    <Tabs
      value={value}
      onChange={(chosen) => chosen !== null && onChange(chosen)}
      keepMounted={false}
      classNames={{ root: classes.tabs, list: classes.list, tab: classes.tab, panel: classes.panel }}
    >
      <Tabs.List aria-label={label}>
        {tabs.map((tab) => (
          <Tabs.Tab key={tab.value} value={tab.value}>
            {tab.label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {tabs.map((tab) => (
        <Tabs.Panel key={tab.value} value={tab.value}>
          {tab.content}
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
