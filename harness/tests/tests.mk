# SPDX-License-Identifier: BSD-2-Clause
# Host unit tests: name and sources of each. The rule is in the top Makefile.

HOST_TESTS :=
