# Shorthands; the README's commands are all that is needed.

.PHONY: build test race lint update ci

build:
	go build -o bin/troupe ./cmd/troupe

test:
	go test ./...

race:
	go test -race ./...

lint:
	test -z "$$(gofmt -l $$(git ls-files '*.go'))"
	go vet ./...
	golangci-lint run

# Rewrites the goldens and the generated pages; read the diff before you commit.
update:
	go test ./... -update

ci:
	CI=true .ci/run
