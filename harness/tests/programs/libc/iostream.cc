/* SPDX-License-Identifier: BSD-2-Clause */
/* What a C++ runtime asks of a kernel: streams with their locale, an exception, memory. */
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

int main(int argc, char **argv)
{
    std::vector<std::string> words(argv, argv + argc);

    try {
        std::cout << words.at(1) << " " << words.size() << std::endl;
        std::cout << words.at(9);
    } catch (const std::out_of_range &error) {
        std::cerr << error.what() << std::endl;
        return 3;
    }
}
