#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The constants that guest/'s NASM and C sides share are the same numbers."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]


def read(name):
    return (ROOT / name).read_text(encoding='ascii')


def nasm_defines(name):
    found = re.findall(r'^%define (\w+) +(0x[0-9A-Fa-f]+|\d+)\b', read(name), re.M)
    return {key: int(value, 0) for key, value in found}


def c_defines(name):
    found = re.findall(r'^#define (\w+) +(0x[0-9A-Fa-f]+|\d+)\b', read(name), re.M)
    return {key: int(value, 0) for key, value in found}


def c_enum(name, tag):
    body = re.search(r'enum %s {(.*?)};' % tag if tag else r'enum {(.*?)};', read(name), re.S)
    text = re.sub(r'/\*.*?\*/', '', body.group(1), flags=re.S)
    values, following = {}, 0
    for item in filter(None, (part.strip() for part in text.split(','))):
        key, _, value = (part.strip() for part in item.partition('='))
        if value:
            left, _, right = value.partition('<<')
            following = int(left, 0) << int(right or '0', 0)
        values[key] = following
        following += 1
    return values


class SharedConstants(unittest.TestCase):
    def same(self, nasm, c, names):
        self.assertTrue(names)
        for nasm_name, c_name in names:
            self.assertEqual(nasm[nasm_name], c[c_name], nasm_name)

    def test_services_and_data(self):
        nasm, c = nasm_defines('guest/abi.inc'), c_defines('guest/abi.h')
        names = [n for n in c if n != 'DATA_BYTES']
        self.same(nasm, c, [(n, n) for n in names])

    def test_vectors(self):
        nasm, c = nasm_defines('guest/abi.inc'), c_enum('hw/trap.h', '')
        self.same(nasm, c, [(n, n) for n in nasm if n.startswith('VECTOR_')])

    def test_selectors(self):
        nasm = nasm_defines('guest/abi.inc')
        c = c_defines('hw/tables.h') | c_defines('hw/user.h')
        self.same(nasm, c, [(n, n) for n in nasm if n.startswith('SELECTOR_')])

    def test_kinds(self):
        nasm, c = nasm_defines('guest/edges.inc'), c_enum('guest/edge.h', 'edge_kind')
        kinds = [n for n in c if n != 'EDGE_KIND_COUNT']
        self.same(nasm, c, [('KIND_' + n[len('EDGE_'):], n) for n in kinds])

    def test_points(self):
        nasm, c = nasm_defines('guest/edges.inc'), c_enum('guest/edge.h', 'edge_point')
        self.same(nasm, c, [(n, n) for n in nasm if n.startswith('POINT_')])

    def test_flags(self):
        nasm = nasm_defines('guest/edges.inc')
        edge, workload = c_enum('guest/edge.h', 'edge_flags'), c_enum('guest/workload.h',
                                                                       'workload_flags')
        self.same(nasm, edge, [(n[len('EDGE_'):], n) for n in edge])
        self.same(nasm, workload, [(n[len('WORKLOAD_'):], n) for n in workload])


if __name__ == '__main__':
    unittest.main()
