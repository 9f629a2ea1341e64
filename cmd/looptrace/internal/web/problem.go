package web

import (
	"crypto/rand"
	"net/http"

	"github.com/looptrace/looptrace/internal/problem"
)

func answerProblem(w http.ResponseWriter, status int, code, detail string) {
	problem.NewDocument(status, code, detail, rand.Text()).Write(w)
}
