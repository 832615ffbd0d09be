// Package docs holds the manual, which the command has inside. Its tests hold the manual against the code.
package docs

import "embed"

// Pages are the pages of the manual, by their names such as planning.md.
//
//go:embed *.md
var Pages embed.FS
