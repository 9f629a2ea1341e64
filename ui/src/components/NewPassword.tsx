import { PasswordInput, Progress, Text } from "@mantine/core";
import { MIN_LENGTH, passwordStrength } from "./strength";

const colors = ["gray", "yellow", "iris", "teal"] as const;

interface Props {
  /** "Password" by default. */
  label?: string;
  value: string;
  onChange: (password: string) => void;
  /** The address of the account. A password that contains its name is easy to guess. */
  email: string;
  error?: string;
  autoFocus?: boolean;
}

/** The field for a new password, with its strength. */
export function NewPassword({ label = "Password", value, onChange, email, error, autoFocus }: Props) {
  const strength = passwordStrength(value, email);
  return (
    <div>
      <PasswordInput
        label={label}
        description={`At least ${MIN_LENGTH} characters`}
        autoComplete="new-password"
        required
        withAsterisk={false}
        minLength={MIN_LENGTH}
        autoFocus={autoFocus}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
        error={error}
        visibilityToggleButtonProps={{ "aria-label": "Show or hide the password", tabIndex: 0 }}
      />
      {value !== "" && (
        <>
          <Progress
            value={((strength.score + 1) / 4) * 100}
            color={colors[strength.score]}
            size={3}
            mt={6}
            aria-hidden="true"
          />
          <Text size="xs" c="dimmed" mt={4} role="status">
            {strength.hint}
          </Text>
        </>
      )}
    </div>
  );
}
