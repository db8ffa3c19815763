// SPDX-License-Identifier: LGPL-2.1-or-later

// A program of Go and C whose runtime handles SIGSEGV: nil dereferences are
// recovered, in goroutines too, between blocks of C. With the argument "misuse"
// C reads blocks after their free; with "dies" the last nil dereference is not
// recovered.
package main

/*
#include <stdlib.h>

static char *made(size_t size)
{
	return malloc(size);
}

static int misused(char *volatile p)
{
	free(p);
	return p[1] != 0;
}

static void faults(int *volatile p)
{
	*p = 1;
}
*/
import "C"

import (
	"fmt"
	"os"
	"sync"
	"unsafe"
)

type pair struct{ a, b int }

func recovered(p *pair) (what string) {
	defer func() { what = fmt.Sprint(recover()) }()
	return fmt.Sprint(p.b)
}

func blocks(nr int, misuse bool) {
	for i := 0; i < nr; i++ {
		p := C.made(C.size_t(16 + i%512))
		*(*byte)(unsafe.Pointer(p)) = 1
		if misuse {
			C.misused(p)
		} else {
			C.free(unsafe.Pointer(p))
		}
	}
}

func main() {
	how := ""
	if len(os.Args) > 1 {
		how = os.Args[1]
	}
	said := map[string]int{}
	var lock sync.Mutex
	var all sync.WaitGroup
	for g := 0; g < 8; g++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := 0; i < 50; i++ {
				blocks(40, how == "misuse")
				what := recovered(nil)
				lock.Lock()
				said[what]++
				lock.Unlock()
			}
		}()
	}
	all.Wait()
	for what, times := range said {
		fmt.Println(times, what)
	}
	if how == "dies" {
		var p *pair
		fmt.Println(p.b)
	}
	if how == "dies-in-C" {
		C.faults(nil)
	}
}
