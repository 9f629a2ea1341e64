import { scan } from "@/components/template";
import classes from "./TemplateText.module.css";

interface Props {
  text: string;
  /** Marks the tags. */
  isTemplate?: boolean;
}

/** The text of a prompt as it is, with its tags marked. */
export function TemplateText({ text, isTemplate = false }: Props) {
  const pieces: React.ReactNode[] = [];
  let at = 0;
  for (const { from, to } of isTemplate ? scan(text).tags : []) {
    pieces.push(text.slice(at, from));
    pieces.push(
      <span key={from} className={classes.tag}>
        {text.slice(from, to)}
      </span>,
    );
    at = to;
  }
  pieces.push(text.slice(at));
  return <div className={classes.text}>{pieces}</div>;
}
