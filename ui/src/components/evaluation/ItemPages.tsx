import { Button, Group } from "@mantine/core";
import { IconChevronLeft, IconChevronRight } from "@tabler/icons-react";
import { ITEMS_PAGE } from "@/api/paging";
import { formatCount } from "@/components/format";
import classes from "./Items.module.css";

interface Props {
  page: number;
  count: number;
  hasMore: boolean;
  onChange: (page: number) => void;
}

/** Turns the pages of a list of items. */
export function ItemPages({ page, count, hasMore, onChange }: Props) {
  const from = (page - 1) * ITEMS_PAGE;
  return (
    <Group justify="space-between" gap="xs" className={classes.pages}>
      <Button
        size="compact-sm"
        variant="default"
        leftSection={<IconChevronLeft size={14} />}
        disabled={page === 1}
        onClick={() => onChange(page - 1)}
      >
        Previous
      </Button>
      <span>
        {formatCount(from + 1)} to {formatCount(from + count)}
      </span>
      <Button
        size="compact-sm"
        variant="default"
        rightSection={<IconChevronRight size={14} />}
        disabled={!hasMore}
        onClick={() => onChange(page + 1)}
      >
        Next
      </Button>
    </Group>
  );
}
