package agent

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/provider"
)

// TenantRun is a run of a program that charges invoices for several tenants on several workers.
type TenantRun struct {
	ID     uuid.UUID
	Traces ptrace.Traces
	// Failed reports that the run failed because of its worker.
	Failed bool
}

const (
	// BadWorker is the worker whose tool tells amounts in cents. Each run on it fails; the others recover from what fails.
	BadWorker = "w2"
	// BadAmount is what the tool says there.
	BadAmount = `{"invoice":"INV-7","amount":129900,"unit":"cent"}`
	// GoodAmount is what it says on the other workers.
	GoodAmount = `{"invoice":"INV-7","amount":1299,"unit":"usd"}`

	billingPrompt = "You charge invoices."
	charged       = "Invoice INV-7 is charged."
	overLimit     = "amount 129900 exceeds the limit of 5000 usd"
)

// Policy is a document that each prompt has.
const Policy = `Charge the invoice of this month. The policy of the company says:
1. An invoice is charged once, in the currency of the account, after its amount has been looked up and never by an estimate.
2. An account that has no agreement on credit has a limit for each charge. Nobody but the owner of the account can raise this limit.
3. A charge that the gateway refuses because it is busy is tried again at once; a charge that exceeds a limit is not tried again.
4. A person of the company is told of each invoice that could not be charged, with the reason as the gateway gave it.`

// billingStack is that of a tool which fails below a framework.
const billingStack = `Traceback (most recent call last):
  File "/app/venv/lib/python3.12/site-packages/agents/runner.py", line 210, in run
    result = await self._step(state)
             ^^^^^^^^^^^^^^^^^^^^^^^
  File "/app/venv/lib/python3.12/site-packages/agents/tools.py", line 88, in _step
    return await tool.call(arguments)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/app/billing/charge.py", line 31, in charge
    account.debit(amount)
    ~~~~~~~~~~~~~^^^^^^^^
  File "/app/billing/account.py", line 12, in debit
    raise LimitExceeded(f"amount {amount} exceeds the limit of {self.limit} usd")
billing.LimitExceeded: amount 129900 exceeds the limit of 5000 usd`

// Tenants returns runs of the program in the last hour, in an order that tells nothing.
func Tenants(now time.Time) ([]TenantRun, error) {
	var list []TenantRun
	for i := range 24 {
		run, err := tenantRun(i, now.Add(-time.Hour+time.Duration(i)*time.Minute))
		if err != nil {
			return nil, err
		}
		list = append(list, run)
	}
	return list, nil
}

func tenantRun(i int, at time.Time) (TenantRun, error) {
	run := TenantRun{ID: uuid.New(), Traces: ptrace.NewTraces()}
	worker := fmt.Sprintf("w%d", i%4+1)
	run.Failed = worker == BadWorker
	r := recorder{trace: pcommon.TraceID(run.ID), at: at, traces: run.Traces}
	rs := run.Traces.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.version", fmt.Sprintf("2.%d", i%2))
	rs.Resource().Attributes().PutStr(runmodel.KeyEnvironment, "production")
	r.spans = rs.ScopeSpans().AppendEmpty().Spans()
	messages := []object{{"role": "user", "parts": []object{{"type": "text", "content": Policy}}}}
	root := r.add("invoke_agent billing", 0, object{
		runmodel.KeyOperationName: "invoke_agent", runmodel.KeyAgentName: "billing", runmodel.KeyInputMessages: text(messages),
		runmodel.KeyUserID: fmt.Sprintf("user-%d", i%5), runmodel.KeySessionID: fmt.Sprintf("session-%d", i),
		runmodel.KeyMetadataPrefix + "tenant": []string{"acme", "globex", "initech"}[i%3], runmodel.KeyMetadataPrefix + "worker": worker,
	})
	chat := func(says object) {
		r.add("chat "+Model, 200*time.Millisecond, object{
			runmodel.KeyOperationName: "chat", runmodel.KeyProviderName: "openai", runmodel.KeyRequestModel: Model, runmodel.KeyResponseModel: Model,
			runmodel.KeySystemInstructions: text([]object{{"type": "text", "content": billingPrompt}}), runmodel.KeyToolDefinitions: text(billingTools),
			runmodel.KeyInputMessages: text(messages), runmodel.KeyOutputMessages: text([]object{says}), runmodel.KeyInputTokens: 300, runmodel.KeyOutputTokens: 20,
		})
		messages = append(messages, says)
	}
	// call asks for a tool and calls it.
	call := func(tool, arguments, result, failure string) ptrace.Span {
		id := fmt.Sprintf("call_%d", r.spans.Len())
		chat(object{"role": "assistant", "finish_reason": "tool_call", "parts": []object{
			{"type": "tool_call", "id": id, "name": tool, "arguments": json.RawMessage(arguments)},
		}})
		span := r.add("execute_tool "+tool, 30*time.Millisecond, object{
			runmodel.KeyOperationName: "execute_tool", runmodel.KeyToolName: tool, runmodel.KeyToolCallID: id, runmodel.KeyToolCallArguments: arguments,
		})
		if failure != "" {
			span.Status().SetCode(ptrace.StatusCodeError)
			span.Status().SetMessage(failure)
			result = text(object{"error": failure})
		} else {
			span.Attributes().PutStr(runmodel.KeyToolCallResult, result)
		}
		messages = append(messages, object{"role": "tool", "parts": []object{{"type": "tool_call_response", "id": id, "response": result}}})
		return span
	}
	if run.Failed {
		call("find_invoice", `{"invoice":"INV-7"}`, BadAmount, "")
		raised(call("charge", `{"amount":129900}`, "", overLimit), "billing.LimitExceeded", overLimit, billingStack)
		raised(root, "billing.LimitExceeded", overLimit, "")
	} else {
		call("find_invoice", `{"invoice":"INV-7"}`, GoodAmount, "")
		if i%3 == 0 {
			call("charge", `{"amount":1299}`, "", "gateway busy")
		}
		call("charge", `{"amount":1299}`, `{"ok":true}`, "")
		last := object{"role": "assistant", "parts": []object{{"type": "text", "content": charged}}, "finish_reason": "stop"}
		chat(last)
		root.Attributes().PutStr(runmodel.KeyOutputMessages, text([]object{last}))
	}
	root.SetEndTimestamp(pcommon.NewTimestampFromTime(r.at))
	if r.err != nil {
		return run, fmt.Errorf("record a run: %w", r.err)
	}
	return run, nil
}

var billingTools = []object{
	{"type": "function", "name": "find_invoice", "description": "Find an invoice", "parameters": object{"type": "object", "properties": object{"invoice": object{"type": "string"}}}},
	{"type": "function", "name": "charge", "description": "Charge an amount in usd", "parameters": object{"type": "object", "properties": object{"amount": object{"type": "number"}}}},
}

// raised makes a span one that an exception ended.
func raised(span ptrace.Span, errorType, message, stack string) {
	span.Status().SetCode(ptrace.StatusCodeError)
	span.Status().SetMessage(message)
	event := span.Events().AppendEmpty()
	event.SetName(runmodel.EventException)
	event.SetTimestamp(span.EndTimestamp())
	event.Attributes().PutStr(runmodel.KeyExceptionType, errorType)
	event.Attributes().PutStr(runmodel.KeyExceptionMessage, message)
	if stack != "" {
		event.Attributes().PutStr(runmodel.KeyExceptionStacktrace, stack)
	}
}

// AnswerTenant answers as the model of the program: it charges the amount that the tool told, whatever its unit.
func AnswerTenant(q *provider.Request) *provider.Reply {
	amount, results := "", 0
	for _, message := range q.Messages {
		if message.Role != "tool" {
			continue
		}
		results++
		var invoice struct {
			Amount json.Number `json:"amount"`
		}
		if json.Unmarshal([]byte(message.Text), &invoice) == nil && invoice.Amount != "" {
			amount = invoice.Amount.String()
		}
	}
	switch results {
	case 0:
		return &provider.Reply{ToolCalls: []provider.ToolCall{{Name: "find_invoice", Arguments: `{"invoice":"INV-7"}`}}}
	case 1:
		return &provider.Reply{ToolCalls: []provider.ToolCall{{Name: "charge", Arguments: `{"amount":` + amount + `}`}}}
	}
	return &provider.Reply{Text: charged}
}
