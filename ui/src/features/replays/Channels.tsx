import type { ReplayAttempt, ReplayChannel, ReplayChannelName, ReplayVerdict } from "@/api/types";
import { DataTable } from "@/components/DataTable";
import shared from "@/components/evaluation/Evaluation.module.css";
import { formatP } from "@/components/evaluation/measures";
import { NONE, UNKNOWN } from "@/components/format";
import { ChannelPlot } from "./ChannelPlot";
import classes from "./Evidence.module.css";
import { foundChannels, isDistance, pointsOf, shownChannels } from "./evidence";
import { CHANNELS, channelValue, effectInterval, effectValue, flagText } from "./words";

interface Props {
  verdict: ReplayVerdict;
  /** Missing for attempts of several runs: only their means are shown. */
  attempts?: readonly ReplayAttempt[];
  /** Whose measures they are, where a page has several. */
  of?: string;
}

interface Row {
  name: ReplayChannelName;
  channel: ReplayChannel;
  isFound: boolean;
}

/** What edited and unedited attempts have in common, measure by measure. What isn't known is said. */
export function Channels({ verdict, attempts, of }: Props) {
  const label = of ? `Measures of ${of}` : "Evidence";
  const { channels } = verdict;
  const found = foundChannels(verdict);
  const rows = shownChannels(channels).map(
    (name): Row => ({ name, channel: channels[name], isFound: found.includes(name) }),
  );
  return (
    <section aria-label={label} className={shared.metrics} data-testid="channels">
      <h2 className={shared.heading}>{label}</h2>
      {attempts && <Legend />}
      <DataTable<Row>
        label={of ? `Channels of ${of}` : "Measures"}
        stacks
        rows={rows}
        rowKey={({ name }) => name}
        rowProps={({ name, isFound }) => ({
          "data-testid": "channel",
          "data-channel": name,
          "data-found": isFound ? "true" : undefined,
        })}
        columns={[
          {
            header: "Measure",
            cell: ({ name, channel, isFound }) => (
              <>
                {CHANNELS[name].label}
                {isFound && <span className={shared.tag}>differs</span>}
                <span className={shared.hint}>{CHANNELS[name].hint}</span>
                <Flags channel={channel} />
              </>
            ),
          },
          ...(attempts
            ? [
                {
                  header: "Attempts",
                  ownLine: true,
                  cell: ({ name, channel }: Row) =>
                    isDistance(name) ? (
                      NONE
                    ) : (
                      <ChannelPlot name={name} channel={channel} points={pointsOf(name, attempts)} />
                    ),
                },
              ]
            : []),
          {
            header: "Without",
            number: true,
            cell: ({ name, channel }) => <Mean name={name} side={channel.controls} />,
          },
          {
            header: "With",
            number: true,
            cell: ({ name, channel }) => <Mean name={name} side={channel.treatments} />,
          },
          {
            header: "Effect",
            cell: ({ channel, isFound }) => <Effect channel={channel} isFound={isFound} />,
          },
          {
            header: "p",
            number: true,
            title: () => "After Holm's correction for several measures",
            cell: ({ channel }) => <P channel={channel} />,
          },
        ]}
      />
    </section>
  );
}

function Legend() {
  return (
    <p className={classes.legend}>
      <span>
        <i className={classes.ring} /> without the edits
      </span>
      <span>
        <i className={classes.dot} /> with the edits
      </span>
      <span>
        <i className={classes.line} /> mean
      </span>
    </p>
  );
}

function Mean({ name, side }: { name: ReplayChannelName; side: ReplayChannel["controls"] }) {
  return (
    <>
      <span className={side.mean === null ? classes.unknown : undefined}>
        {channelValue(name, side.mean)}
      </span>
      <span className={shared.interval}>n = {side.n}</span>
    </>
  );
}

function P({ channel: { p, p_adjusted: adjusted } }: { channel: ReplayChannel }) {
  if (adjusted !== null) return formatP(adjusted);
  return <span className={classes.unknown}>{p === null ? UNKNOWN : NONE}</span>;
}

function Effect({ channel, isFound }: { channel: ReplayChannel; isFound: boolean }) {
  const { effect, ci, measure } = channel;
  if (effect === null) return <span className={classes.unknown}>{UNKNOWN}</span>;
  return (
    <>
      <span className={isFound ? classes.found : undefined}>{effectValue(measure, effect)}</span>
      <span className={shared.interval}>{ci ? effectInterval(measure, ci) : "no interval"}</span>
    </>
  );
}

function Flags({ channel: { flags } }: { channel: ReplayChannel }) {
  if (!flags || flags.length === 0) return null;
  return flags.map((flag) => (
    <span key={flag} className={shared.flag} data-flag={flag}>
      {flagText(flag)}
    </span>
  ));
}
