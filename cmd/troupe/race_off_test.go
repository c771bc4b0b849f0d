//go:build !race

package main

const raceWeight = 1
