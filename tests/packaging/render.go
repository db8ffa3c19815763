// SPDX-License-Identifier: LGPL-2.1-or-later

// Renders a chart as `helm template` does, for machines without helm: the same
// template engine (text/template), the same functions (sprig) and the rules of
// Helm's engine on top of them. The values come as JSON, already merged.
//
//	render CHART RELEASE NAMESPACE <VALUES
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"gopkg.in/yaml.v2"
)

// files is .Files: what is in the chart beside its templates.
type files struct{ chart string }

func (f files) Get(name string) string {
	text, err := os.ReadFile(filepath.Join(f.chart, name))
	if err != nil {
		return ""
	}
	return string(text)
}

func toYaml(v interface{}) string {
	text, err := yaml.Marshal(v)
	if err != nil {
		log.Fatal(err)
	}
	return strings.TrimSuffix(string(text), "\n")
}

func required(message string, v interface{}) (interface{}, error) {
	if v == nil || v == "" {
		return v, fmt.Errorf("%s", message)
	}
	return v, nil
}

func chartFile(chart string) (c struct {
	Name, Version string
	AppVersion    string `yaml:"appVersion"`
}) {
	text, err := os.ReadFile(filepath.Join(chart, "Chart.yaml"))
	if err == nil {
		err = yaml.Unmarshal(text, &c)
	}
	if err != nil {
		log.Fatal(err)
	}
	return c
}

func main() {
	chart := os.Args[1]
	all := template.New("chart").Option("missingkey=zero")
	functions := sprig.TxtFuncMap()
	delete(functions, "env")
	delete(functions, "expandenv")
	functions["toYaml"] = toYaml
	functions["required"] = required
	functions["toJson"] = func(v interface{}) (string, error) {
		text, err := json.Marshal(v)
		return string(text), err
	}
	// there is no cluster
	functions["lookup"] = func(...string) map[string]interface{} {
		return map[string]interface{}{}
	}
	functions["include"] = func(name string, data interface{}) (string, error) {
		var out bytes.Buffer
		err := all.ExecuteTemplate(&out, name, data)
		return out.String(), err
	}
	all.Funcs(functions)

	var values map[string]interface{}
	if err := json.NewDecoder(os.Stdin).Decode(&values); err != nil {
		log.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	if err != nil || len(names) == 0 {
		log.Fatal("no templates in ", chart)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err == nil {
			_, err = all.New(name).Parse(string(text))
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	data := map[string]interface{}{
		"Values": values,
		"Chart":  chartFile(chart),
		"Files":  files{chart},
		"Release": map[string]interface{}{"Name": os.Args[2],
			"Namespace": os.Args[3], "Service": "Helm"},
	}
	for _, name := range names {
		var out bytes.Buffer
		if strings.HasPrefix(filepath.Base(name), "_") {
			continue
		}
		if err := all.ExecuteTemplate(&out, name, data); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("---\n# Source: %s\n%s\n", filepath.Base(name),
			strings.ReplaceAll(out.String(), "<no value>", ""))
	}
}
