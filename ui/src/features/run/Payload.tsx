import { formatBytes } from "@/components/format";
import { RecordedText } from "@/components/RecordedText";
import classes from "./SpanDetail.module.css";

interface Props {
  title: string;
  text: string | null;
  plain?: boolean;
}

/** A recorded text with its title and size. */
export function Payload({ title, text, plain = false }: Props) {
  return (
    <section aria-label={title} className={classes.payload}>
      <h3 className={classes.subtitle}>
        {title}
        {text !== null && text.length > 1000 && <span>{formatBytes(new Blob([text]).size)}</span>}
      </h3>
      {text === null ? (
        <p className={classes.none}>Not recorded</p>
      ) : text === "" ? (
        <p className={classes.none}>Empty</p>
      ) : (
        <div className={classes.box}>
          <RecordedText text={text} what={title.toLowerCase()} plain={plain} framed={false} />
        </div>
      )}
    </section>
  );
}
