#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# java: compile and run, collected heap, threads, direct buffers.
. "$top_srcdir/tests/programs/same.sh"

needs java default-jdk-headless
needs javac default-jdk-headless
counts="java javac"

job()
{
	cat >Main.java <<'END'
import java.nio.ByteBuffer;
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.*;
public class Main {
	public static void main(String[] args) throws Exception {
		Map<Integer, String> m = new TreeMap<>();
		for (int i = 0; i < 200000; i++)
			m.put(i % 10007, "value " + i);
		System.out.println(m.size() + " " + m.get(10006));
		ExecutorService pool = Executors.newFixedThreadPool(4);
		List<Future<Long>> f = new ArrayList<>();
		for (int t = 0; t < 8; t++) {
			final int n = t;
			f.add(pool.submit(() -> LongStream.range(0, 100000)
				.map(x -> x * n).sum()));
		}
		long sum = 0;
		for (Future<Long> x : f)
			sum += x.get();
		pool.shutdown();
		System.out.println(sum);
		int bytes = 0;
		for (int i = 0; i < 300; i++)
			bytes += ByteBuffer.allocateDirect(i * 100).capacity();
		System.out.println(bytes);
	}
}
END
	javac -J-Xshare:auto Main.java && java -Xmx128m -cp . Main
}

same_result "$@"
