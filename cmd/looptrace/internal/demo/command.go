// Package demo loads sample data into an installation, for someone who has no runs yet.
package demo

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// New returns the command.
func New() *cobra.Command {
	var email, workspace string
	c := &cobra.Command{
		Use:   "demo",
		Short: "Load sample runs, a prompt, datasets and a comparison into a project of their own",
		Long: "Load sample runs, a prompt, datasets and a comparison into the project Samples of your workspace.\n\n" +
			"It asks for your email address and password, because a key belongs to a project and cannot create one. You need\n" +
			"the role admin or owner in the workspace. Without a terminal, give --email, and the password in\n" +
			"LOOPTRACE_PASSWORD. The address comes from LOOPTRACE_ENDPOINT (default: http://127.0.0.1:7090).\n\n" +
			"To remove the samples, open the project in the UI and choose Remove.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			base, err := endpoint()
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			session, err := open(base)
			if err != nil {
				return err
			}
			if err := session.ready(ctx); err != nil {
				return err
			}
			password := os.Getenv("LOOPTRACE_PASSWORD")
			if email, password, err = ask(c.InOrStdin(), c.ErrOrStderr(), email, password); err != nil {
				return err
			}
			project, err := session.load(ctx, email, password, workspace)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "Loaded sample data. Open %s\n", base.JoinPath("p", project, "runs"))
			return err
		},
	}
	c.Flags().StringVar(&email, "email", "", "email address of your account (default: asked)")
	c.Flags().StringVar(&workspace, "workspace", "", "id of the workspace (default: the only one in which you may create projects)")
	return c
}

func endpoint() (*url.URL, error) {
	address := cmp.Or(os.Getenv("LOOPTRACE_ENDPOINT"), "http://127.0.0.1:7090")
	base, err := url.Parse(strings.TrimSuffix(address, "/"))
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, fmt.Errorf("LOOPTRACE_ENDPOINT is %q and must be an address like http://127.0.0.1:7090", address)
	}
	return base, nil
}

// ask asks for what is not given. It does not show the password.
func ask(in io.Reader, out io.Writer, email, password string) (givenEmail, givenPassword string, err error) {
	if email != "" && password != "" {
		return email, password, nil
	}
	file, ok := in.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return "", "", errors.New("there is no terminal to ask on: give --email, and the password in LOOPTRACE_PASSWORD")
	}
	if email == "" {
		_, _ = fmt.Fprint(out, "Email: ")
		line, err := bufio.NewReader(file).ReadString('\n')
		if err != nil {
			return "", "", fmt.Errorf("read the email address: %w", err)
		}
		email = strings.TrimSpace(line)
	}
	if password == "" {
		_, _ = fmt.Fprint(out, "Password: ")
		text, err := term.ReadPassword(int(file.Fd()))
		_, _ = fmt.Fprintln(out)
		if err != nil {
			return "", "", fmt.Errorf("read the password: %w", err)
		}
		password = string(text)
	}
	return email, password, nil
}
