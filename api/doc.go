// Package api is the HTTP surface: routes, problem+json, SSE, Host and Origin
// checks, OpenAPI. Handlers only send what the Threads port offers and stream
// what a Follower gives; they hold no state of a thread.
//
// api imports only wire, and declares the port it needs.
package api
