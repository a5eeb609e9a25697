// Command linearizability checks recorded histories of concurrent appends with Porcupine.
//
// It reads one operation a line from stdin, as JSON:
//
//	{"aggregate": "a", "client": 1, "op": "append", "expected": 0, "result": "ok", "sequence": 7, "callNs": 1, "returnNs": 9}
//
// An append names the sequence that its aggregate must end with; it is "ok", and then gave the aggregate a later sequence, or it met a
// "conflict", and then the aggregate ended with another one. A "read" says where the aggregate ends. Who never heard an answer is
// recorded as ok with a return at the end of all, if the stream has the event, and left out otherwise.
//
// It prints one line of JSON with what it found, and ends with 1 for a history that no order of operations explains.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

type operation struct {
	Aggregate string `json:"aggregate"`
	Client    int    `json:"client"`
	Op        string `json:"op"`
	Expected  uint64 `json:"expected"`
	Result    string `json:"result"`
	Sequence  uint64 `json:"sequence"`
	CallNs    int64  `json:"callNs"`
	ReturnNs  int64  `json:"returnNs"`
}

type verdict struct {
	Result     string   `json:"result"`
	Operations int      `json:"operations"`
	Aggregates int      `json:"aggregates"`
	Illegal    []string `json:"illegal"`
}

// The state of an aggregate is the sequence of its last event; 0 while it has none.
var model = porcupine.Model{
	Init: func() interface{} { return uint64(0) },
	Step: func(state, input, _ interface{}) (bool, interface{}) {
		last, op := state.(uint64), input.(operation)
		switch {
		case op.Op == "read":
			return op.Sequence == last, last
		case op.Result == "conflict":
			return op.Expected != last, last
		default:
			return op.Expected == last && op.Sequence > last, op.Sequence
		}
	},
}

const patience = time.Minute

func check(operations []operation) porcupine.CheckResult {
	history := make([]porcupine.Operation, len(operations))
	for at, op := range operations {
		history[at] = porcupine.Operation{ClientId: op.Client, Input: op, Call: op.CallNs, Output: nil, Return: op.ReturnNs}
	}
	return porcupine.CheckOperationsTimeout(model, history, patience)
}

func run() (verdict, error) {
	byAggregate := map[string][]operation{}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	count := 0
	for lines.Scan() {
		var op operation
		if err := json.Unmarshal(lines.Bytes(), &op); err != nil {
			return verdict{}, fmt.Errorf("line %d: %w", count+1, err)
		}
		count++
		byAggregate[op.Aggregate] = append(byAggregate[op.Aggregate], op)
	}
	if err := lines.Err(); err != nil {
		return verdict{}, err
	}
	found := verdict{Result: string(porcupine.Ok), Operations: count, Aggregates: len(byAggregate), Illegal: []string{}}
	for name, operations := range byAggregate {
		result := check(operations)
		if result == porcupine.Ok {
			continue
		}
		if found.Result != string(porcupine.Illegal) {
			found.Result = string(result)
		}
		found.Illegal = append(found.Illegal, name)
	}
	sort.Strings(found.Illegal)
	return found, nil
}

func main() {
	found, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		os.Exit(2)
	}
	if found.Result != string(porcupine.Ok) {
		os.Exit(1)
	}
}
