package load

import "context"

// scenario is one way to load a server.
type scenario struct {
	name  string
	about string
	shape shape
	short shape // what takes a few seconds and is judged by the rules alone
	run   func(context.Context, *bench) error
}

func scenarios() []scenario {
	return []scenario{
		{
			"fan-out", "many followers of few threads, at a pace (--rate) or as fast as it goes (--rate 0)",
			shape{threads: 1, followers: 1000, rate: 50, size: 160, frames: 500},
			shape{threads: 1, followers: 100, rate: 0, size: 160, frames: 2000}, fanOut,
		},
		{
			"many-threads", "many threads with a follower each",
			shape{threads: 1000, followers: 1, rate: 5, size: 160, frames: 50},
			shape{threads: 100, followers: 1, rate: 50, size: 160, frames: 50}, fanOut,
		},
		{
			"burst", "20,000 small frames at once: who reads is not closed",
			shape{threads: 1, followers: 200, rate: 0, size: 64, frames: 20_000},
			shape{threads: 1, followers: 20, rate: 0, size: 64, frames: 20_000}, fanOut,
		},
		{
			"slow-followers", "a tenth of the followers stop reading: they are closed, the others do not notice",
			shape{threads: 1, followers: 200, rate: 200, size: 8192, frames: 4000},
			shape{threads: 1, followers: 10, rate: 1500, size: 16 << 10, frames: 2500}, slowFollowers,
		},
	}
}

// Names are the scenarios.
func Names() (names []string) {
	for _, s := range scenarios() {
		names = append(names, s.name)
	}
	return names
}

// Help is a line for each scenario.
func Help() (lines [][2]string) {
	for _, s := range scenarios() {
		lines = append(lines, [2]string{s.name, s.about})
	}
	return lines
}
