import { ActionIcon, Group, NativeSelect, Text, TextInput, Tooltip } from "@mantine/core";
import {
  IconArrowsHorizontal,
  IconChevronDown,
  IconChevronUp,
  IconRoute,
  IconSearch,
  IconZoomIn,
  IconZoomOut,
} from "@tabler/icons-react";
import { formatCount } from "@/components/format";
import { ERRORS, PATH, type SpanFilter } from "./outline";
import classes from "./SpanTree.module.css";

interface Props {
  search: React.RefObject<HTMLInputElement | null>;
  filter: SpanFilter;
  onFilter: (filter: SpanFilter) => void;
  /** Shows all spans again. */
  onStop: () => void;
  /** Selects the first match. */
  onFirst: () => void;
  kinds: readonly string[];
  errorCount: number;
  onJump: (step: 1 | -1) => void;
  withPath: boolean;
  onWithPath: (withPath: boolean) => void;
  isWhole: boolean;
  onZoom: (factor: number) => void;
  onShowAll: () => void;
}

/** Finds spans, jumps between errors, and zooms the waterfall. */
export function SpanTools(props: Props) {
  const { filter, onFilter, withPath, isWhole, onZoom } = props;
  return (
    <div className={classes.tools}>
      <TextInput
        ref={props.search}
        size="xs"
        type="search"
        className={classes.search}
        aria-label="Find spans"
        placeholder="Find spans"
        leftSection={<IconSearch size={14} aria-hidden="true" />}
        value={filter.text}
        onChange={(event) => onFilter({ ...filter, text: event.currentTarget.value })}
        onKeyDown={(event) => {
          if (event.key === "Escape") props.onStop();
          if (event.key === "Enter") props.onFirst();
        }}
      />
      <NativeSelect
        size="xs"
        aria-label="Which spans"
        className={classes.which}
        value={filter.only}
        onChange={(event) => onFilter({ ...filter, only: event.currentTarget.value })}
        data={[
          { value: "", label: "All spans" },
          { value: ERRORS, label: "Errors" },
          { value: PATH, label: "Critical path" },
          ...props.kinds.map((kind) => ({ value: kind, label: kind })),
        ]}
      />
      {props.errorCount > 0 && (
        <Group gap={2} wrap="nowrap">
          <Text size="xs" c="red" fw={550}>
            {formatCount(props.errorCount)} {props.errorCount === 1 ? "error" : "errors"}
          </Text>
          <Tool
            label="Previous error (p)"
            onClick={() => props.onJump(-1)}
            icon={IconChevronUp}
            color="red"
          />
          <Tool label="Next error (n)" onClick={() => props.onJump(1)} icon={IconChevronDown} color="red" />
        </Group>
      )}
      <Group gap={2} wrap="nowrap" ml="auto">
        <Tool
          label="Show the critical path (c)"
          onClick={() => props.onWithPath(!withPath)}
          icon={IconRoute}
          pressed={withPath}
        />
        <Tool label="Zoom in (+)" onClick={() => onZoom(0.5)} icon={IconZoomIn} />
        <Tool label="Zoom out (-)" onClick={() => onZoom(2)} icon={IconZoomOut} disabled={isWhole} />
        <Tool
          label="Whole run (0)"
          onClick={props.onShowAll}
          icon={IconArrowsHorizontal}
          disabled={isWhole}
        />
      </Group>
    </div>
  );
}

interface ToolProps {
  label: string;
  icon: typeof IconSearch;
  onClick: () => void;
  pressed?: boolean;
  disabled?: boolean;
  color?: string;
}

function Tool({ label, icon: Icon, onClick, pressed, disabled, color = "gray" }: ToolProps) {
  return (
    <Tooltip label={label}>
      <ActionIcon
        size="sm"
        variant={pressed ? "light" : "subtle"}
        color={pressed ? undefined : color}
        aria-label={label}
        aria-pressed={pressed}
        aria-disabled={disabled || undefined}
        style={disabled ? { opacity: 0.4 } : undefined}
        onClick={disabled ? undefined : onClick}
      >
        <Icon size={15} stroke={1.7} aria-hidden="true" />
      </ActionIcon>
    </Tooltip>
  );
}
