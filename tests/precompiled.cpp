// SPDX-License-Identifier: Apache-2.0
// Nothing of its own: the program whose build leaves the precompiled headers of the tests (retro_precompiled).
int main() { return 0; }
