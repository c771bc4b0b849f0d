package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/troupe-run/troupe/wire"
)

func (c *cli) lsCommand() *cobra.Command {
	var q wire.ThreadQuery
	var status string
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List threads, newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cl, err := c.client()
			if err != nil {
				return err
			}
			q.Status = wire.ThreadStatus(status)
			page, raw, err := listThreads(cmd.Context(), cl, &q)
			if err != nil {
				return err
			}
			if c.json {
				return c.printJSON(raw)
			}
			return printThreads(c.out, page)
		},
	}
	cmd.Flags().StringVar(&q.Type, "type", "", "only threads of this agent")
	cmd.Flags().StringVar(&status, "status", "", "only threads that are idle, active, paused, archived or failed")
	cmd.Flags().StringVar(&q.Q, "q", "", "only threads with this in their id or title")
	cmd.Flags().IntVar(&q.Limit, "limit", 0, "at most this many, 1 to 500 (default 100)")
	cmd.Flags().StringVar(&q.Cursor, "cursor", "", "go on where the page before ended")
	return c.withJSON(cmd)
}

// listThreads is one page of summaries; q may be nil.
func listThreads(ctx context.Context, cl *client, q *wire.ThreadQuery) (wire.ThreadPage, []byte, error) {
	path := "/api/threads"
	if q != nil {
		v := url.Values{}
		for key, text := range map[string]string{"type": q.Type, "status": string(q.Status), "q": q.Q, "cursor": q.Cursor} {
			if text != "" {
				v.Set(key, text)
			}
		}
		if q.Limit != 0 {
			v.Set("limit", strconv.Itoa(q.Limit))
		}
		if len(v) > 0 {
			path += "?" + v.Encode()
		}
	}
	return call[wire.ThreadPage](ctx, cl, http.MethodGet, path, nil)
}

func printThreads(w io.Writer, page wire.ThreadPage) error {
	if len(page.Threads) == 0 {
		_, err := fmt.Fprintln(w, "no threads")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "THREAD\tSTATUS\tRUNS\tUPDATED\tTITLE")
	for _, s := range page.Threads {
		status := plain(string(s.Status))
		if s.AwaitingInput {
			status += fmt.Sprintf(", %d to answer", s.OpenDialogs)
		}
		title := oneLine(s.Title, 60)
		if title == "" {
			title = "-"
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\n", plain(s.ID), status, s.Generation, s.UpdatedAt.UTC().Format("2006-01-02 15:04:05"), title)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if page.Next != "" {
		_, err := fmt.Fprintf(w, "more: troupe ls --cursor %s\n", plain(page.Next))
		return err
	}
	return nil
}
