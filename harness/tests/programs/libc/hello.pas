{ SPDX-License-Identifier: BSD-2-Clause }
{ What Pascal's runtime asks of a kernel: text, and a division by zero that ends it. }
program hello;

var
   zero : integer;

begin
   writeln('hello');
   zero := 0;
   writeln(1 div zero);
end.
