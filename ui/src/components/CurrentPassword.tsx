import { PasswordInput } from "@mantine/core";

interface Props {
  /** "Password" by default. */
  label?: string;
  value: string;
  onChange: (password: string) => void;
  error?: string;
  autoFocus?: boolean;
}

/** The field for the password of an existing account. */
export function CurrentPassword({ label = "Password", value, onChange, error, autoFocus }: Props) {
  return (
    <PasswordInput
      label={label}
      autoComplete="current-password"
      required
      withAsterisk={false}
      autoFocus={autoFocus}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      error={error}
      visibilityToggleButtonProps={{ "aria-label": "Show or hide the password", tabIndex: 0 }}
    />
  );
}
