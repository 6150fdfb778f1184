-- SPDX-License-Identifier: BSD-2-Clause
-- What Ada's runtime asks of a kernel: text, and an access to nothing made an exception.
with Ada.Text_IO;

procedure Hello is
   type Link is access Integer;
   Nothing : Link := null;
begin
   Ada.Text_IO.Put_Line ("hello");
   Ada.Text_IO.Put_Line (Integer'Image (Nothing.all));
exception
   when Constraint_Error =>
      Ada.Text_IO.Put_Line ("nothing");
end Hello;
