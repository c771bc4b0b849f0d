package main

import (
	"fmt"
	"io"
	"net/http"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/troupe-run/troupe/wire"
)

func (c *cli) agentsCommand() *cobra.Command {
	return c.withJSON(&cobra.Command{
		Use:   "agents",
		Short: "List the agents on offer and what each can do",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cl, err := c.client()
			if err != nil {
				return err
			}
			agents, raw, err := call[[]wire.Agent](cmd.Context(), cl, http.MethodGet, "/api/agents", nil)
			if err != nil {
				return err
			}
			if c.json {
				return c.printJSON(raw)
			}
			return printAgents(c.out, agents)
		},
	})
}

func printAgents(w io.Writer, agents []wire.Agent) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "AGENT\tRUNTIME\tSTATE\tCAN")
	for _, a := range agents {
		state := "available"
		if !a.Available {
			state = "unavailable: " + oneLine(a.Reason, 80)
		}
		if a.Default {
			state += ", default"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", plain(a.Name), plain(a.Runtime), state, abilities(a.Capabilities))
	}
	return t.Flush()
}

func abilities(c wire.Capabilities) string {
	text := ""
	for _, a := range []struct {
		can  bool
		word string
	}{
		{c.Steer, "steer"}, {c.Resume, "resume"}, {c.Images, "images"}, {c.Dialogs, "dialogs"},
		{c.Modes, "modes"}, {c.Models, "models"}, {c.Compact, "compact"}, {c.Login, "login"},
	} {
		if a.can {
			text += " " + a.word
		}
	}
	if text == "" {
		return "-"
	}
	return text[1:]
}
