// Command driver puts franz-go and sarama behind the line protocol of drivers.py: one JSON command a line on stdin, one JSON
// answer a line on stdout; a member of a group answers no more and tells what it does, one event a line.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"
)

// Command is what a line on stdin says.
type Command struct {
	Do        string            `json:"do"`
	Topic     string            `json:"topic"`
	In        string            `json:"in"`
	Out       string            `json:"out"`
	Config    map[string]string `json:"config"`
	Ends      map[int32]int64   `json:"ends"`
	TimeoutMs int64             `json:"timeout_ms"`
	Group     string            `json:"group"`
	ClientID  string            `json:"client_id"`
	Instance  string            `json:"instance"`
	SessionMs int64             `json:"session_ms"`
	Strategy  string            `json:"strategy"`
	Protocol  string            `json:"protocol"`
}

// Client is one of the libraries.
type Client interface {
	Produce(command Command, records []Record) error
	Consume(command Command) ([]Record, error)
	Join(command Command, leaving <-chan struct{}) error
}

var clients = map[string]func(bootstrap string) Client{
	"franz-go": func(bootstrap string) Client { return franz{bootstrap} },
	"sarama":   func(bootstrap string) Client { return shopify{bootstrap} },
}

var output sync.Mutex

func say(message map[string]any) {
	line, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	output.Lock()
	defer output.Unlock()
	os.Stdout.Write(append(line, '\n'))
}

// tell says an event of a member, see members.py.
func tell(event string, more map[string]any) {
	more["event"], more["at"] = event, time.Now().UnixMicro()
	say(more)
}

func tellRead(partition int32, first, next int64) {
	tell("read", map[string]any{"partition": partition, "first": first, "next": next})
}

func run(client Client, command Command) (map[string]any, error) {
	switch command.Do {
	case "produce":
		records, err := readFile(command.In)
		if err != nil {
			return nil, err
		}
		if err := client.Produce(command, records); err != nil {
			return nil, err
		}
		return map[string]any{"records": len(records)}, writeFile(command.Out, records)
	case "consume":
		records, err := client.Consume(command)
		if err != nil {
			return nil, err
		}
		return map[string]any{"records": len(records)}, writeFile(command.Out, records)
	}
	return nil, fmt.Errorf("no such command: %s", command.Do)
}

func live(client Client, command Command, lines *bufio.Scanner) {
	leaving := make(chan struct{})
	go func() {
		lines.Scan() // told to leave, or nobody is there to tell it
		close(leaving)
	}()
	if err := client.Join(command, leaving); err != nil {
		tell("failed", map[string]any{"message": err.Error()})
		os.Exit(1)
	}
	tell("left", map[string]any{})
}

func main() {
	if len(os.Args) != 3 || clients[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: driver franz-go|sarama HOST:PORT")
		os.Exit(2)
	}
	client := clients[os.Args[1]](os.Args[2])
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var command Command
		if err := json.Unmarshal(lines.Bytes(), &command); err != nil {
			say(map[string]any{"error": "Command", "message": err.Error()})
			continue
		}
		if command.Do == "join" {
			live(client, command, lines)
			return
		}
		answer, err := run(client, command)
		if err != nil {
			answer = map[string]any{"error": fmt.Sprintf("%T", err), "message": err.Error()}
		}
		say(answer)
	}
}
