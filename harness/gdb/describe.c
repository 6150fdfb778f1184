/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The registers by name, number and type, whatever operating system the debugger takes the
 * program for: without this it counts them by the program's ABI note. Source: the GDB manual,
 * "Target Description Format" and, in "Standard Target Features", "i386 Features".
 */
#include "harness/gdb/stub.h"

#define FIELD(name, bit)      "<field name=\"" name "\" start=\"" #bit "\" end=\"" #bit "\"/>"
#define VECTOR(id, type, of)  "<vector id=\"" id "\" type=\"" type "\" count=\"" #of "\"/>"
#define MEMBER(name, type)    "<field name=\"" name "\" type=\"" type "\"/>"
#define REG(n, name, bits, t) REG_END(n, name, bits, t, "")
#define FLOAT(n, name)        REG_END(n, name, 32, "int", " group=\"float\"")
#define REG_END(number, name, bits, type, end)                                                 \
    "<reg name=\"" name "\" bitsize=\"" #bits "\" type=\"" type "\" regnum=\"" #number         \
    "\"" end "/>"
#define ST(number, name)  REG(number, name, 80, "i387_ext")
#define XMM(number, name) REG(number, name, 128, "vec128")

/* clang-format off */
static const char text[] =
    "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target version=\"1.0\">"
    "<architecture>i386:x86-64</architecture><osabi>GNU/Linux</osabi>\n"
    "<feature name=\"org.gnu.gdb.i386.core\"><flags id=\"i386_eflags\" size=\"4\">"
    FIELD("CF", 0) FIELD("", 1) FIELD("PF", 2) FIELD("AF", 4) FIELD("ZF", 6) FIELD("SF", 7)
    FIELD("TF", 8) FIELD("IF", 9) FIELD("DF", 10) FIELD("OF", 11) FIELD("NT", 14)
    FIELD("RF", 16) FIELD("VM", 17) FIELD("AC", 18) FIELD("VIF", 19) FIELD("VIP", 20)
    FIELD("ID", 21) "</flags>\n"
    REG(0, "rax", 64, "int64") REG(1, "rbx", 64, "int64") REG(2, "rcx", 64, "int64")
    REG(3, "rdx", 64, "int64") REG(4, "rsi", 64, "int64") REG(5, "rdi", 64, "int64")
    REG(6, "rbp", 64, "data_ptr") REG(7, "rsp", 64, "data_ptr") REG(8, "r8", 64, "int64")
    REG(9, "r9", 64, "int64") REG(10, "r10", 64, "int64") REG(11, "r11", 64, "int64")
    REG(12, "r12", 64, "int64") REG(13, "r13", 64, "int64") REG(14, "r14", 64, "int64")
    REG(15, "r15", 64, "int64") REG(16, "rip", 64, "code_ptr")
    REG(17, "eflags", 32, "i386_eflags") REG(18, "cs", 32, "int32") REG(19, "ss", 32, "int32")
    REG(20, "ds", 32, "int32") REG(21, "es", 32, "int32") REG(22, "fs", 32, "int32")
    REG(23, "gs", 32, "int32")
    ST(24, "st0") ST(25, "st1") ST(26, "st2") ST(27, "st3") ST(28, "st4") ST(29, "st5")
    ST(30, "st6") ST(31, "st7")
    FLOAT(32, "fctrl") FLOAT(33, "fstat") FLOAT(34, "ftag") FLOAT(35, "fiseg")
    FLOAT(36, "fioff") FLOAT(37, "foseg") FLOAT(38, "fooff") FLOAT(39, "fop") "</feature>\n"
    "<feature name=\"org.gnu.gdb.i386.sse\">"
    VECTOR("v4f", "ieee_single", 4) VECTOR("v2d", "ieee_double", 2) VECTOR("v16i8", "int8", 16)
    VECTOR("v8i16", "int16", 8) VECTOR("v4i32", "int32", 4) VECTOR("v2i64", "int64", 2)
    "<union id=\"vec128\">" MEMBER("v4_float", "v4f") MEMBER("v2_double", "v2d")
    MEMBER("v16_int8", "v16i8") MEMBER("v8_int16", "v8i16") MEMBER("v4_int32", "v4i32")
    MEMBER("v2_int64", "v2i64") MEMBER("uint128", "uint128") "</union>"
    "<flags id=\"i386_mxcsr\" size=\"4\">" FIELD("IE", 0) FIELD("DE", 1) FIELD("ZE", 2)
    FIELD("OE", 3) FIELD("UE", 4) FIELD("PE", 5) FIELD("DAZ", 6) FIELD("IM", 7) FIELD("DM", 8)
    FIELD("ZM", 9) FIELD("OM", 10) FIELD("UM", 11) FIELD("PM", 12) FIELD("FZ", 15) "</flags>\n"
    XMM(40, "xmm0") XMM(41, "xmm1") XMM(42, "xmm2") XMM(43, "xmm3") XMM(44, "xmm4")
    XMM(45, "xmm5") XMM(46, "xmm6") XMM(47, "xmm7") XMM(48, "xmm8") XMM(49, "xmm9")
    XMM(50, "xmm10") XMM(51, "xmm11") XMM(52, "xmm12") XMM(53, "xmm13") XMM(54, "xmm14")
    XMM(55, "xmm15")
    REG_END(56, "mxcsr", 32, "i386_mxcsr", " group=\"vector\"") "</feature>\n"
    "<feature name=\"org.gnu.gdb.i386.linux\">"
    REG_END(57, "orig_rax", 64, "int", " group=\"system\"") "</feature>\n"
    "<feature name=\"org.gnu.gdb.i386.segments\">"
    REG(58, "fs_base", 64, "int") REG(59, "gs_base", 64, "int") "</feature></target>\n";
/* clang-format on */

const char *gdb_target_text(void)
{
    return text;
}
