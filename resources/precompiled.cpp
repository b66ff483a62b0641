// SPDX-License-Identifier: Apache-2.0
// Nothing of its own: the source of the targets whose build leaves precompiled headers (retro_precompiled).
int main() { return 0; }
