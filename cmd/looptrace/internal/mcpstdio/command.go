package mcpstdio

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// NewCommand returns `looptrace mcp`.
func NewCommand() *cobra.Command {
	var address, toolNames string
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Serve the tools of an installation over stdio, to an MCP client (LOOPTRACE_API_KEY: scope runs:read)",
		Long: "Serve the tools of an installation over stdio, to an MCP client.\n\n" +
			"The key comes from LOOPTRACE_API_KEY and needs the scope runs:read (the preset Agent).\n" +
			"Clients that speak HTTP can use the address /mcp of the installation without this command.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			key := os.Getenv("LOOPTRACE_API_KEY")
			if key == "" {
				return errors.New("set LOOPTRACE_API_KEY to a key with the scope runs:read; create one in Looptrace under Settings > Keys (preset Agent)")
			}
			base, err := url.Parse(strings.TrimSuffix(address, "/"))
			if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
				return fmt.Errorf("--url is %q and must be an address like http://127.0.0.1:7090", address)
			}
			if toolNames != "" && toolNames != underscore {
				return fmt.Errorf("--tool-names must be %s, or absent", underscore)
			}
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			b := newBridge(base, key, toolNames)
			if err := b.check(ctx); err != nil {
				return err
			}
			return b.run(ctx, os.Stdin, os.Stdout)
		},
	}
	c.Flags().StringVar(&address, "url", cmp.Or(os.Getenv("LOOPTRACE_ENDPOINT"), "http://127.0.0.1:7090"), "address of the installation (default: LOOPTRACE_ENDPOINT)")
	c.Flags().StringVar(&toolNames, "tool-names", "", "underscore: name tools runs_search instead of runs.search, and so on, for clients that refuse dots")
	return c
}
