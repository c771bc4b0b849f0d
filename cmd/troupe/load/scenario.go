package load

import "context"

// scenario is one way to load a server.
type scenario struct {
	name  string
	about string
	shape shape
	short shape // what takes a few seconds and is judged by the rules alone
	run   func(context.Context, *bench) error
	batch int // the most followers at once; 0 is all
}

// atOnce is how many followers are there at the same time.
func (s *scenario) atOnce() int {
	n := s.shape.threads * s.shape.followers
	if s.batch > 0 {
		n = min(n, s.batch)
	}
	return n
}

func scenarios() []scenario {
	return []scenario{
		{
			"fan-out", "many followers of few threads, at a pace (--rate) or as fast as it goes (--rate 0)",
			shape{threads: 1, followers: 1000, rate: 50, size: 160, frames: 500},
			shape{threads: 1, followers: 100, rate: 0, size: 160, frames: 2000}, fanOut, 0,
		},
		{
			"many-threads", "many threads with a follower each",
			shape{threads: 1000, followers: 1, rate: 5, size: 160, frames: 50},
			shape{threads: 100, followers: 1, rate: 50, size: 160, frames: 50}, fanOut, 0,
		},
		{
			"burst", "20,000 small frames at once: who reads is not closed",
			shape{threads: 1, followers: 200, rate: 0, size: 64, frames: 20_000},
			shape{threads: 1, followers: 20, rate: 0, size: 64, frames: 20_000}, fanOut, 0,
		},
		{
			"slow-followers", "a tenth of the followers stop reading: they are closed, the others do not notice",
			shape{threads: 1, followers: 200, rate: 200, size: 8192, frames: 4000},
			shape{threads: 1, followers: 10, rate: 250, size: 16 << 10, frames: 1600}, slowFollowers, 0, // over the 16 MB that one may lag
		},
		{
			"reconnect-storm", "every follower of a thread with a long history reconnects at the same instant",
			shape{threads: 1, followers: 1000, rate: 0, size: 64 << 10, frames: 80},
			shape{threads: 1, followers: 50, rate: 0, size: 16 << 10, frames: 40}, reconnectStorm, 0,
		},
		{
			"dialog-race", "many answer and cancel one question at once: one wins",
			shape{threads: 20, followers: 5, times: 20},
			shape{threads: 5, followers: 2, times: 4}, dialogRace, 0,
		},
		{
			"abort-storm", "many stop a run at once: it settles once, and the thread goes on",
			shape{threads: 20, followers: 5, size: 64, times: 10},
			shape{threads: 5, followers: 2, size: 64, times: 3}, abortStorm, 0,
		},
		{
			"prompt-storm", "prompts of every kind over many threads, with aborts and races mixed in by a seeded schedule",
			shape{threads: 200, followers: 2, times: 10_000},
			shape{threads: 20, followers: 2, times: 300}, promptStorm, 0,
		},
		{
			"cold-follows", "many threads are followed once and left: the memory comes back",
			shape{threads: 10_000, followers: 1},
			shape{threads: 500, followers: 1}, coldFollows, coldBatch,
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
