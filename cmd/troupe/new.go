package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/troupe-run/troupe/wire"
)

func (c *cli) newCommand() *cobra.Command {
	var (
		r    wire.CreateThread
		args string
	)
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Make a thread and print its id, or reattach to the one with that id",
		Long: "Make a thread and print its id. With --id, a thread that exists already is\n" +
			"reattached to. The agent works in --cwd (. is the folder you are in), else in the\n" +
			"folder that the server's configuration names for it, else where the server was\n" +
			"started.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cl, err := c.client()
			if err != nil {
				return err
			}
			if args != "" {
				if !json.Valid([]byte(args)) {
					return usagef("--args: not JSON")
				}
				r.Args = wire.RawJSON(args)
			}
			if r.Cwd, err = workFolder(r.Cwd, cl.base); err != nil {
				return err
			}
			s, raw, err := call[wire.Summary](cmd.Context(), cl, http.MethodPost, "/api/threads", &r)
			if err != nil {
				return err
			}
			if c.json {
				return c.printJSON(raw)
			}
			_, err = fmt.Fprintln(c.out, plain(s.ID))
			return err
		},
	}
	cmd.Flags().StringVar(&r.Type, "type", "", "the agent (default: the server's default agent)")
	cmd.Flags().StringVar(&r.ID, "id", "", "the thread's own id (default: a new one)")
	cmd.Flags().StringVar(&r.Title, "title", "", "its title")
	cmd.Flags().StringVar(&r.Cwd, "cwd", "", "the folder its agent works in")
	cmd.Flags().StringVar(&args, "args", "", "JSON that becomes its first prompt")
	cmd.Flags().StringToStringVar(&r.Tags, "tag", nil, "tags, key=value")
	return c.withJSON(cmd)
}

// workFolder is the folder to name to the server at base: an absolute one, or,
// for a server elsewhere, what was asked for.
func workFolder(asked, base string) (string, error) {
	u, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	ip := net.ParseIP(u.Hostname())
	local := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	switch {
	case !local || asked == "":
		return asked, nil
	default:
		return filepath.Abs(asked)
	}
}
