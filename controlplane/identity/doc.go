// Package identity knows who calls and what they may do: users and their sessions, projects, and what projects
// keep: keys, limits, prices, saved views. It is the one place that turns a credential into a [Principal], and
// [Principal.Authorize] is the one place that decides whether a principal may do a thing in a project.
package identity
