/* sha256.h: SHA-256 (FIPS 180-4). Kept models are named by the digest of their bytes, so nobody can create two files
 * with one name. Implemented here because a cryptographic library would be a dependency for one function. */
#ifndef SOOTH_BASE_SHA256_H
#define SOOTH_BASE_SHA256_H

#include <stddef.h>

enum { SHA256_TEXT = 65 }; /* hexadecimal digits and a NUL */

/* Writes the digest of the bytes as hexadecimal digits. */
void sha256_text(const void *bytes, size_t size, char text[SHA256_TEXT]);

#endif
