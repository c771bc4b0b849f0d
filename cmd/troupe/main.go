package main

import (
	"context"
	"os"

	"github.com/troupe-run/troupe/host/proc"
)

func main() {
	proc.Main() // does not return in a process that was started as a reaper
	c := &cli{in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Getenv, exit: os.Exit}
	os.Exit(c.run(context.Background(), os.Args[1:]))
}
