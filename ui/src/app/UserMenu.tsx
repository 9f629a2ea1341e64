import { Menu, UnstyledButton, useMantineColorScheme } from "@mantine/core";
import {
  IconBook,
  IconCheck,
  IconDeviceDesktop,
  IconKeyboard,
  IconLogout,
  IconMoon,
  IconSun,
  IconUserCircle,
  IconUserCog,
} from "@tabler/icons-react";
import { Link } from "react-router";
import { useLogout, useMe } from "@/api/identity";
import { toggleAbsoluteTimes, useAbsoluteTimes } from "@/components/times";
import classes from "./UserMenu.module.css";

const schemes = [
  { value: "auto", label: "System", Icon: IconDeviceDesktop },
  { value: "light", label: "Light", Icon: IconSun },
  { value: "dark", label: "Dark", Icon: IconMoon },
] as const;

interface Props {
  onShortcuts: () => void;
  /** Shows only the icon. */
  compact?: boolean;
}

/** The account, theme, help and logout. */
export function UserMenu({ onShortcuts, compact = false }: Props) {
  const email = useMe().data?.user?.email ?? "key";
  const logout = useLogout();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Menu width={220} position="top-start">
      <Menu.Target>
        <UnstyledButton
          className={classes.button}
          data-compact={compact || undefined}
          aria-label={`Account: ${email}`}
        >
          <IconUserCircle size={18} stroke={1.6} aria-hidden="true" />
          <span className={classes.email}>{email}</span>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{email}</Menu.Label>
        <Menu.Item component={Link} to="/account" leftSection={<IconUserCog size={15} stroke={1.6} />}>
          Account
        </Menu.Item>
        <Menu.Divider />
        {schemes.map(({ value, label, Icon }) => (
          <Menu.Item
            key={value}
            leftSection={<Icon size={15} stroke={1.6} />}
            rightSection={colorScheme === value ? <IconCheck size={14} aria-label="current" /> : null}
            onClick={() => setColorScheme(value)}
          >
            {label}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.CheckboxItem checked={useAbsoluteTimes()} onChange={toggleAbsoluteTimes}>
          Absolute times
        </Menu.CheckboxItem>
        <Menu.Divider />
        <Menu.Item leftSection={<IconKeyboard size={15} stroke={1.6} />} onClick={onShortcuts}>
          Keyboard shortcuts
        </Menu.Item>
        <Menu.Item
          component="a"
          href="/v1/docs"
          target="_blank"
          leftSection={<IconBook size={15} stroke={1.6} />}
        >
          API reference
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item
          leftSection={<IconLogout size={15} stroke={1.6} />}
          onClick={() => logout.mutate()}
          disabled={logout.isPending}
        >
          Log out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
